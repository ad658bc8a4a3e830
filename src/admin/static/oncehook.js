// Oncehook's one script. Every page works without it: it shows times in the viewer's zone, says or shows when something is
// new, and counts ticks. It never writes markup: what it puts on a page is text, or a part of a page that the server rendered.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const parts = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short",
});

// --- Times: `2026-01-05 15:30:00 GMT+5:30`; UTC stays in the title -------------------------------------------------

function local(date) {
  const part = Object.fromEntries(parts.formatToParts(date).map(({ type, value }) => [type, value]));
  return { day: `${part.year}-${part.month}-${part.day}`, time: `${part.hour}:${part.minute}:${part.second}`, zone: part.timeZoneName };
}

function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    const { day, time: clock, zone: name } = local(at);
    const millis = /\.\d{3} UTC$/.test(time.textContent) ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
    time.textContent = `${day} ${clock}${millis} ${name}`;
  }
  for (const text of root.querySelectorAll("text[data-time]")) {
    const { day, time } = local(new Date(text.dataset.time));
    text.textContent = text.textContent.includes("-") ? `${day.slice(5)} ${time.slice(0, 5)}` : time.slice(0, 5);
  }
  for (const word of root.querySelectorAll("[data-zone]")) word.textContent = zone;
}

// A field for a time is the viewer's own time on the screen, and UTC in the address.
function localiseFields(root) {
  const two = (number) => String(number).padStart(2, "0");
  for (const field of root.querySelectorAll("input[type=datetime-local]")) {
    if (!field.value) continue;
    const at = new Date(`${field.value}Z`);
    field.value = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  }
}

document.addEventListener("formdata", (event) => {
  for (const field of event.target.querySelectorAll("input[type=datetime-local]")) {
    const at = new Date(field.value);
    if (field.value && !Number.isNaN(at.valueOf())) event.formData.set(field.name, at.toISOString());
  }
  for (const [name, value] of [...event.formData]) {
    if (value === "" && event.target.method === "get") event.formData.delete(name);
  }
});

// --- News: what the server says has changed ------------------------------------------------------------------------

const kind = document.body.dataset.live;
const pause = 1000;
let count = 0;
let timer = null;

function mark() {
  const news = document.getElementById("news");
  const link = document.createElement("a");
  link.href = location.href;
  link.textContent = "show";
  news.replaceChildren(`${count === 1 ? "1 change" : `${count} changes`} since this page was loaded: `, link);
  news.hidden = false;
}

async function renew() {
  const live = document.getElementById("live");
  // Whoever reads or types in there is not disturbed.
  if (!live || live.contains(document.activeElement) || !getSelection().isCollapsed) return mark();
  const answer = await fetch(location.href, { headers: { accept: "text/html", "x-oncehook-renewal": "1" }, redirect: "error" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("live");
  if (!fresh) return;
  const open = new Set([...live.querySelectorAll("details")].map((details, at) => (details.open ? at : -1)));
  for (const [at, details] of [...fresh.querySelectorAll("details")].entries()) details.open = open.has(at) || details.open;
  showTimes(fresh);
  revealCopying(fresh);
  live.replaceWith(document.adoptNode(fresh));
  if (page.body.dataset.live !== "renew") stop();
}

function changed() {
  count += 1;
  if (timer) return;
  timer = setTimeout(async () => {
    timer = null;
    try {
      await (kind === "renew" ? renew() : mark());
    } catch {
      // The server is away: the next event, or the next look, shows.
    }
  }, pause);
}

let stop = () => {};
if (kind && "EventSource" in window) {
  const events = new EventSource("/api/v1/events");
  for (const name of ["receipt", "delivery", "bulk", "missed"]) events.addEventListener(name, changed);
  // What no event tells of: bulks that go on, seconds that pass.
  const seconds = Number(document.body.dataset.every);
  const every = kind === "renew" && seconds ? setInterval(changed, seconds * 1000) : null;
  stop = () => { events.close(); clearInterval(every); };
  addEventListener("pagehide", stop);
}

// --- Ticks and copying ---------------------------------------------------------------------------------------------

for (const form of document.querySelectorAll("form.pick")) {
  const buttons = [...form.querySelectorAll("[data-picked]")];
  const hint = form.querySelector("[data-picked-none]");
  const told = () => {
    const ticked = form.querySelectorAll("input[name=only]:checked").length;
    for (const button of buttons) {
      button.textContent = ticked ? `${button.dataset.picked} ${ticked}…` : `${button.dataset.picked} the ticked ones…`;
      button.disabled = ticked === 0;
    }
    if (hint) hint.hidden = ticked > 0;
  };
  form.addEventListener("change", told);
  addEventListener("pageshow", told);
  told();
}

function revealCopying(root) {
  for (const button of root.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});

showTimes(document);
localiseFields(document);
revealCopying(document);
