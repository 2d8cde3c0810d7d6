// Times as people read them.

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
const SHORT = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

/** Date and time in the place of the browser; what is no time stays as it is. */
export function timeText(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : FORMAT.format(date);
}

/** Hours and minutes, with the day where the span is longer than one. */
export function axisText(date, seconds) {
  return (seconds > 86400 ? DAY : SHORT).format(date);
}

/** What a field for date and time has, as the service takes it; "" if it is empty. */
export function fromField(value) {
  const date = new Date(value);
  return value === "" || Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
