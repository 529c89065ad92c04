import { badFile, LIMITS } from '../limits.ts';

/** Receives the elements and texts of a document, in their order. Names come without their prefix. */
export type Listener = {
  open(name: string, attributes: string): void;
  text(text: string): void;
  close(name: string): void;
};

export type XmlReader = {
  /** Adds a piece of the document, and calls the listener for everything that is complete. */
  write(text: string): void;
  /** Ends the document. Errors: 400 when it is not complete. */
  end(): void;
};

/** The maximum length of one tag or text: the largest cell of Excel, with an entity for each character. */
const MAX_PIECE_LENGTH = 4 * LIMITS.rowLength;

const damaged = () => badFile('is damaged: its XML cannot be read');
const COMMENT = ['<!--', '-->'] as const;
const CDATA = ['<![CDATA[', ']]>'] as const;

/**
 * Creates a reader for the XML of spreadsheets: elements, attributes, text, CDATA. Declarations, comments and entities
 * other than the five of XML are ignored, so a document can neither expand nor refer to anything outside.
 * Errors: 400 for a tag or a text that is longer than spreadsheets have.
 */
export function createXmlReader({ open, text, close }: Listener): XmlReader {
  let rest = '';
  /** Number of open elements. */
  let depth = 0;

  /** Returns the end of the tag or text that begins at `at`; -1 when it is not complete yet. */
  function endOfPiece(all: string, at: number): number {
    if (all[at] !== '<') return all.indexOf('<', at);
    if (all.startsWith(COMMENT[0], at)) return after(all, COMMENT[1], at + 4);
    if (all.startsWith(CDATA[0], at)) return after(all, CDATA[1], at);
    return endOfTag(all, at);
  }

  function emit(part: string): void {
    if (part[0] !== '<') return text(decodeEntities(part));
    if (part.startsWith(CDATA[0])) return text(part.slice(CDATA[0].length, -CDATA[1].length));
    if (part[1] === '!' || part[1] === '?') return;
    if (part[1] === '/') {
      depth--;
      return close(localName(part.slice(2, -1).trim()));
    }
    const empty = part.at(-2) === '/';
    const [, name = '', attributes = ''] = TAG.exec(part.slice(1, empty ? -2 : -1)) ?? [];
    open(localName(name), attributes);
    if (empty) close(localName(name));
    else depth++;
  }

  return {
    write(more) {
      const all = rest + more;
      let at = 0;
      // The beginning of a comment or CDATA may be incomplete itself.
      while (at < all.length && !(all[at] === '<' && all.length - at < CDATA[0].length && !all.includes('>', at))) {
        const end = endOfPiece(all, at);
        if (end < 0) break;
        emit(all.slice(at, end));
        at = end;
      }
      rest = all.slice(at);
      if (rest.length > MAX_PIECE_LENGTH) throw damaged();
    },
    end() {
      if (rest.trim() !== '' || depth !== 0) throw damaged();
    },
  };
}

const TAG = /^(\S*)\s*([^]*)$/;
const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

function after(all: string, mark: string, from: number): number {
  const at = all.indexOf(mark, from);
  return at < 0 ? -1 : at + mark.length;
}

const GREATER = 62;
const isQuote = (code: number): boolean => code === 34 || code === 39;

/** Returns the end of a tag. A value in quotes may contain a `>`. */
function endOfTag(all: string, at: number): number {
  let quote = 0;
  for (let i = at; i < all.length; i++) {
    const code = all.charCodeAt(i);
    if (quote !== 0) quote = code === quote ? 0 : quote;
    else if (code === GREATER) return i + 1;
    else if (isQuote(code)) quote = code;
  }
  return -1;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|\w+);/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/**
 * Creates a function that reads one attribute of an element, by its name without prefix; undefined if there is none.
 */
export function attributeReader(name: string): (attributes: string) => string | undefined {
  const form = new RegExp(`(?:^|[\\s:])${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`);
  return (attributes) => {
    const [, double, single] = form.exec(attributes) ?? [];
    const value = double ?? single;
    return value === undefined ? undefined : decodeEntities(value);
  };
}
