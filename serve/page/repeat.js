// What is done again and again while the page is seen.

/** Runs `run` every `period` milliseconds, each time after the last one has ended, while the page is visible and `wanted` is true. */
export function repeat(run, period, wanted = () => true) {
  const again = async () => {
    try {
      if (!document.hidden && wanted()) await run();
    } finally {
      setTimeout(again, period);
    }
  };
  setTimeout(again, period);
}
