// Elements of the page. Texts from cameras, models and people become text, never markup.

export const $ = (id) => document.getElementById(id);

/** An element with these properties and children; `data` and `aria` are objects of attributes. */
export function make(tag, { data = {}, aria = {}, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(aria)) element.setAttribute(`aria-${name}`, value);
  element.append(...children);
  return element;
}

/** A button; `name` follows its text for those who do not see what it belongs to. */
export function button(text, run, name) {
  const element = make("button", { type: "button", textContent: text });
  if (name) element.setAttribute("aria-label", `${text} ${name}`);
  element.addEventListener("click", run);
  return element;
}

/** Sets a text, if it is another one: screen readers read a status again each time that it is set. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Has `list` show these items in their order: those that stay keep their elements, with what has the focus. */
export function keyed(list, items, keyOf, create, update) {
  const old = new Map([...list.children].map((element) => [element.dataset.key, element]));
  items.forEach((item, index) => {
    const key = String(keyOf(item));
    const element = old.get(key) ?? create(item);
    element.dataset.key = key;
    old.delete(key);
    update(element, item);
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
  });
  for (const element of old.values()) element.remove();
  return [...old.values()];
}
