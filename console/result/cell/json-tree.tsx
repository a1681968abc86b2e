import { useMemo, useState } from 'preact/hooks'
import { elementsOf, memberPlaces, type RawMember } from '../../../src/contract/text/json-rows.ts'
import { formatCount } from '../../parts/format.ts'

type TreeProps = Readonly<{ name?: string; raw: string; isOpenAtFirst?: boolean }>

/**
 * JSON as a tree of the text itself: every digit, the order of the members and duplicate members stay. Closed nodes are
 * not rendered, so a deep or large value costs nothing until it is opened.
 */
export function JsonTree({ name, raw, isOpenAtFirst = false }: TreeProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const [shown, setShown] = useState(membersAtOnce)
  const count = useMemo(() => (isBranch(raw) ? countOf(raw) : undefined), [raw])
  const members = useMemo(() => (isOpen && isBranch(raw) ? firstParts(raw, shown) : []), [raw, isOpen, shown])
  const label = name === undefined ? null : <span class="tree-name">{cut(name)}: </span>
  if (count === undefined)
    return (
      <div>
        {label}
        <span class={kindOf(raw)}>{cut(raw)}</span>
      </div>
    )
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="muted">{raw.startsWith('[') ? `[${count}]` : `{${count}}`}</span>
      </summary>
      {isOpen && (
        <div class="tree">
          {members.map(([key, value], at) => (
            <JsonTree key={at} name={key} raw={value} />
          ))}
          {count > shown && (
            <button type="button" onClick={() => setShown(shown + membersAtOnce)}>
              {formatCount(count - shown)} more
            </button>
          )}
        </div>
      )}
    </details>
  )
}

/** Reading a longer text would block the page. */
export const longestTree = 4_000_000

/** Whether a text is an object or an array. A long text of another declared type is not tried. */
export function isTree(text: string, isJson: boolean): boolean {
  if (!isBranch(text.slice(0, 100).trimStart())) return false
  if (isJson) return text.length <= longestTree
  if (text.length > longestTried) return false
  try {
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

const longestTried = 500_000
/** Of more the browser lays out the nodes too slowly. */
const membersAtOnce = 200
const longestText = 10_000

const isBranch = (raw: string) => raw.startsWith('{') || raw.startsWith('[')

function firstParts(raw: string, count: number): readonly RawMember[] {
  const parts: RawMember[] = []
  for (const part of partsOf(raw)) {
    if (parts.length === count) break
    parts.push(part)
  }
  return parts
}

function* partsOf(raw: string): Generator<RawMember> {
  if (raw.startsWith('{'))
    for (const { name, start, end } of memberPlaces(raw)) yield [name, raw.slice(start, end)]
  else {
    let at = 0
    for (const value of elementsOf(raw)) yield [String(at++), value]
  }
}

const kindOf = (raw: string) => (raw === 'null' ? 'muted' : raw.startsWith('"') ? 'tree-text' : 'tree-number')

/** The members of an object or array, without reading them. */
function countOf(raw: string): number {
  let [count, depth] = [0, 0]
  let isEmpty = true
  for (let at = 0; at < raw.length; at++) {
    const unit = raw.charCodeAt(at)
    if (unit <= space) continue
    if (depth === 1 && unit !== closeBrace && unit !== closeBracket) isEmpty = false
    if (unit === quote) at = endOfText(raw, at)
    else if (unit === openBrace || unit === openBracket) depth++
    else if (unit === closeBrace || unit === closeBracket) depth--
    else if (unit === comma && depth === 1) count++
  }
  return isEmpty ? 0 : count + 1
}

function endOfText(raw: string, from: number): number {
  let at = from + 1
  while (at < raw.length && raw.charCodeAt(at) !== quote) at += raw.charCodeAt(at) === backslash ? 2 : 1
  return at
}

const [space, quote, comma, backslash, openBrace, closeBrace, openBracket, closeBracket] = [
  32, 34, 44, 92, 123, 125, 91, 93,
] as const

const cut = (text: string) => (text.length > longestText ? `${text.slice(0, longestText)}…` : text)
