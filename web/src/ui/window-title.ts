/** Parts of the window title: the page, and the number of unread conversations. */
let page = '';
let unread = 0;

const write = (): void => {
  document.title = `${unread > 0 ? `(${unread}) ` : ''}${page} · Heliograph`;
};

/** Sets the name of the page in the window title. */
export function setPageTitle(title: string): void {
  page = title;
  write();
}

/** Sets the number of unread conversations, which the title of every page begins with; zero shows none. */
export function setUnreadTitle(count: number): void {
  if (count === unread) return;
  unread = count;
  if (page !== '') write();
}
