/** The part of Markdown that the documentation uses. */
export type Block =
  | Readonly<{ kind: 'heading'; level: number; text: string }>
  | Readonly<{ kind: 'code'; text: string }>
  | Readonly<{ kind: 'table'; head: readonly string[]; rows: readonly (readonly string[])[] }>
  | Readonly<{ kind: 'list'; isNumbered: boolean; items: readonly string[] }>
  | Readonly<{ kind: 'paragraph'; text: string }>

export type Inline = Readonly<{
  kind: 'text' | 'code' | 'strong' | 'image' | 'link'
  text: string
  to?: string
}>

export function readMarkdown(text: string): readonly Block[] {
  const lines = text.split('\n')
  const blocks: Block[] = []
  while (lines.length > 0) {
    const take = readers.find(({ starts }) => starts.test(lines[0]!))
    if (take) blocks.push(take.read(lines))
    else lines.shift()
  }
  return blocks
}

type Reader = Readonly<{ starts: RegExp; read: (lines: string[]) => Block }>

const item = /^( {0,3})([-*]|\d+\.) +/

const readers: readonly Reader[] = [
  {
    starts: /^#{1,6} /,
    read: (lines) => {
      const [, marks, text] = /^(#+) +(.*)/.exec(lines.shift()!)!
      return { kind: 'heading', level: marks!.length, text: text! }
    },
  },
  {
    starts: /^```/,
    read: (lines) => {
      lines.shift()
      const text = takeWhile(lines, (line) => !line.startsWith('```')).join('\n')
      lines.shift()
      return { kind: 'code', text }
    },
  },
  {
    starts: /^ {4}\S/,
    read: (lines) => ({
      kind: 'code',
      text: takeWhile(lines, (line) => /^ {4}|^$/.test(line))
        .map((line) => line.slice(4))
        .join('\n')
        .trimEnd(),
    }),
  },
  {
    starts: /^\|/,
    read: (lines) => {
      const [head = [], , ...rows] = takeWhile(lines, (line) => line.startsWith('|')).map(cellsOf)
      return { kind: 'table', head, rows }
    },
  },
  {
    starts: item,
    read: (lines) => {
      const isNumbered = /^ *\d/.test(lines[0]!)
      const items: string[] = []
      for (const line of takeWhile(lines, (each) => item.test(each) || /^ +\S/.test(each))) {
        if (item.test(line)) items.push(line.replace(item, ''))
        else items.push(`${items.pop()} ${line.trim()}`)
      }
      return { kind: 'list', isNumbered, items }
    },
  },
  {
    starts: /\S/,
    read: (lines) => ({
      kind: 'paragraph',
      text: [
        lines.shift()!,
        ...takeWhile(lines, (line) => /^[^|#\s`]|^`[^`]/.test(line) && !item.test(line)),
      ].join(' '),
    }),
  },
]

function takeWhile(lines: string[], isWanted: (line: string) => boolean): string[] {
  const end = lines.findIndex((line) => !isWanted(line))
  return lines.splice(0, end < 0 ? lines.length : end)
}

/** A vertical bar in a cell is written as `\|`. */
const cellsOf = (line: string) =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

const inlines = /`([^`]+)`|\*\*([^*]+)\*\*|!\[([^\]]*)\]\(([^)]+)\)|\[([^\]]+)\]\(([^)]+)\)/g

export function readInlines(text: string): readonly Inline[] {
  const found: Inline[] = []
  let at = 0
  for (const match of text.matchAll(inlines)) {
    const [all, code, strong, alt, source, label, to] = match
    if (match.index > at) found.push({ kind: 'text', text: text.slice(at, match.index) })
    at = match.index + all.length
    if (code !== undefined) found.push({ kind: 'code', text: code })
    else if (strong !== undefined) found.push({ kind: 'strong', text: strong })
    else if (source !== undefined) found.push({ kind: 'image', text: alt ?? '', to: source })
    else found.push({ kind: 'link', text: label!, to: to! })
  }
  if (at < text.length) found.push({ kind: 'text', text: text.slice(at) })
  return found
}

/** The name of a heading in a link, as GitHub makes it. */
export const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
