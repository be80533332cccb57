// Keys for rating, and a rating that is kept in the browser until the server has it on its disk.
const PENDING = "jurybox rating not yet sent";
const AGAIN = 1500;
let busy = false;

const desk = () => document.getElementById("desk");
const form = () => document.getElementById("rate");
const say = (text, wrong) => {
  const news = document.getElementById("news");
  news.textContent = text;
  news.classList.toggle("lost", Boolean(wrong));
};
const button = (act) => form() && form().querySelector(`button[name="act"][value="${act}"]`);

document.addEventListener("submit", (event) => {
  if (event.target.id !== "rate") return;
  event.preventDefault();
  const act = event.submitter ? event.submitter.value : null;
  if (act) send(fields(act));
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const writing = event.target.matches("textarea, input, select");
  if (writing) {
    // Enter ends the comment; a score comes next. Shift and Enter is a new line.
    if (event.target.name === "comment" && (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey))) {
      event.preventDefault();
      event.target.blur();
    }
    return;
  }
  const act = { s: "skip", u: "undo" }[event.key] || (/^[1-5]$/.test(event.key) ? event.key : null);
  if (act && !event.repeat && button(act)) {
    event.preventDefault();
    send(fields(act));
  } else if (event.key === "c" && form() && form().comment) {
    event.preventDefault();
    form().comment.focus();
  } else if (event.key === "Enter" && !event.target.closest("button, a, summary")) {
    load(); // what is next, as the server knows it
  }
});

function fields(act) {
  const told = Object.fromEntries(new FormData(form()));
  delete told.csrf;
  return { ...told, act };
}

async function send(told, before) {
  if (busy) return;
  busy = true;
  // Undo takes back whatever was last: sent twice, it would take back two.
  if (told.act !== "undo") localStorage.setItem(PENDING, JSON.stringify(told));
  try {
    const body = new URLSearchParams({ ...told, csrf: form().csrf.value, ...(before ? { again: "1" } : {}) });
    const answer = await fetch("/annotate", { method: "POST", body, credentials: "same-origin" });
    if (answer.status === 403) return await renew(told);
    if (answer.status === 401) return say("The server asks for its token: load the page anew. Your rating is kept in this browser.", true);
    if (answer.status >= 500) throw new Error("not now");
    const html = await answer.text();
    localStorage.removeItem(PENDING);
    if (answer.ok) show(html, told);
    else say(new DOMParser().parseFromString(html, "text/html").querySelector(".lead")?.textContent || "That did not work.", true);
  } catch {
    say(told.act === "undo" ? "The server cannot take it now; nothing was undone." : "The server cannot take it now. Your rating is kept in this browser and sent when it is back.", true);
    if (told.act !== "undo") setTimeout(() => send(told, true), AGAIN);
  } finally {
    busy = false;
  }
}

// The server was started again: its forms carry another word now.
async function renew(told) {
  const page = await fetched(desk().dataset.address);
  const word = page.querySelector('#rate input[name="csrf"]');
  if (!word) return say("The server asks who you are; load the page anew.", true);
  form().csrf.value = word.value;
  setTimeout(() => send(told, true), 0);
}

async function load() {
  if (busy) return;
  try {
    put(await fetched(desk().dataset.address));
  } catch {
    say("The server does not answer.", true);
  }
}

async function fetched(address) {
  const answer = await fetch(address, { credentials: "same-origin" });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function show(html, told) {
  put(new DOMParser().parseFromString(html, "text/html"));
  say({ skip: "Skipped.", undo: "Undone." }[told.act] || `Saved: ${told.act}.`);
}

// The same summary stays where it was read to; another one begins at its top.
function put(page) {
  const next = page.getElementById("desk");
  if (!next) return;
  const same = next.dataset.item === desk().dataset.item;
  const at = desk().querySelector(".source")?.scrollTop || 0;
  desk().replaceWith(document.adoptNode(next));
  const source = desk().querySelector(".source");
  if (source) source.scrollTop = same ? at : 0;
  if (!same) window.scrollTo(0, 0);
}

const left = localStorage.getItem(PENDING);
if (left && form()) {
  const told = JSON.parse(left);
  if (told.rater === form().rater.value) {
    say("A rating from before is being sent.");
    send(told, true);
  }
}
