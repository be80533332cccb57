// Parts of a page that move while a run goes on: asked for again every few seconds, as long as that is worth it.
for (const part of document.querySelectorAll("[data-live]")) follow(part);

function follow(part) {
  const pause = Number(part.dataset.every || 3) * 1000;
  let wait = part.closest(".raters") ? 0 : pause;
  const ask = async () => {
    let more = true;
    try {
      if (!document.hidden && !part.contains(document.activeElement)) {
        const answer = await fetch(part.dataset.live, { credentials: "same-origin" });
        if (answer.ok) {
          const html = await answer.text();
          if (html !== part.dataset.seen) put(part, html);
          more = answer.headers.get("x-live") === "1";
        }
      }
      wait = pause;
    } catch {
      wait = Math.min(Math.max(wait, pause) * 2, 30000); // the server is away; it may come back
    }
    if (more) setTimeout(ask, wait);
  };
  setTimeout(ask, wait);
}

// What is open and where tables were scrolled to stays so. The server has escaped all that it sends, and the policy of
// the page lets no script run that is put in.
function put(part, html) {
  const places = [...part.querySelectorAll(".scroller")].map((one) => one.scrollLeft);
  const open = [...part.querySelectorAll("details")].map((one) => one.open);
  part.innerHTML = html;
  part.dataset.seen = html;
  part.querySelectorAll(".scroller").forEach((one, k) => { one.scrollLeft = places[k] || 0; });
  part.querySelectorAll("details").forEach((one, k) => { if (k in open) one.open = open[k]; });
}
