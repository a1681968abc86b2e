/** What becomes of the text of a number. */
export type ReadNumber = (text: string) => unknown
export type IsKept = (text: string, start: number, end: number) => boolean

/**
 * Where the first number is that JSON.parse changes; -1 if there is none. Rows come by the million and few of their numbers
 * change, so strings are passed over and nothing is made of a number that `isKept`.
 */
export function firstChangedNumber(text: string, readNumber: ReadNumber, isKept: IsKept): number {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = stringEnd(text, at) - 1
    else if (unit === minus || isDigit(unit)) {
      const end = numberEnd(text, at)
      if (!isKept(text, at, end) && typeof readNumber(text.slice(at, end)) !== 'number') return at
      at = end - 1
    }
  }
  return -1
}

/**
 * Puts the numbers that JSON.parse changed into the document that it made of `text`, which is the only element of `root`,
 * from the place `first` on: goes through both, step by step. False: two members of an object have one name, so that
 * they cannot be found in this way, and the document is spoilt.
 */
export function putChangedNumbers(
  root: unknown[],
  text: string,
  first: number,
  readNumber: ReadNumber,
  isKept: IsKept,
): boolean {
  const outer: MemberPlace[] = []
  let place: MemberPlace = { container: root, key: 0, memberCount: 0 }
  let isName = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) {
      const end = stringEnd(text, at)
      if (isName) {
        place.key = stringOf(text, at, end)
        place.memberCount++
        isName = false
      }
      at = end - 1
    } else if (unit === minus || isDigit(unit)) {
      const end = numberEnd(text, at)
      const value = at < first || isKept(text, at, end) ? 0 : readNumber(text.slice(at, end))
      if (typeof value !== 'number') put(place, value)
      at = end - 1
    } else if (unit === openBrace || unit === openBracket) {
      const container = memberOf(place)
      if (!isContainer(container)) return false
      outer.push(place)
      place = { container, key: 0, memberCount: 0 }
      isName = unit === openBrace
    } else if (unit === comma) {
      isName = typeof place.key === 'string'
      if (!isName) place.key = (place.key as number) + 1
    } else if (unit === closeBrace || unit === closeBracket) {
      if (unit === closeBrace && Object.keys(place.container).length !== place.memberCount) return false
      place = outer.pop()!
      isName = false
    }
  }
  return true
}

/** Does a double give back the digits, as one can see without making it? At most 15 of them, and none that it leaves out. */
export function keepsDigits(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start) === minus ? start + 1 : start
  if (end - first > 15) return false
  // Zeros at the beginning of a fraction may become an exponent, and -0 becomes 0.
  if (text.charCodeAt(first) === zero) return end === start + 1
  let hasPoint = false
  for (let at = first; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === point) hasPoint = true
    else if (!isDigit(unit)) return false
  }
  return !hasPoint || text.charCodeAt(end - 1) !== zero
}

type Container = Record<string | number, unknown>
/** Where the next value stands. */
type MemberPlace = { container: Container | unknown[]; key: string | number; memberCount: number }

/** Its own: what stands in the text twice may be missing here, and `__proto__` would be everybody's. */
const memberOf = ({ container, key }: MemberPlace) =>
  Object.hasOwn(container, key) ? (container as Container)[key] : undefined

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

/** A member may have any name, `__proto__` too. */
function put({ container, key }: MemberPlace, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true })
  else (container as Container)[key] = value
}

function stringOf(text: string, start: number, end: number): string {
  const raw = text.slice(start, end)
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
}

function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
}

function numberEnd(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const unit = text.charCodeAt(at)
    if (isDigit(unit) || unit === point || unit === minus || unit === plus) continue
    if (unit !== smallE && unit !== largeE) return at
  }
}

const isDigit = (unit: number) => unit >= zero && unit <= nine

const [quote, plus, comma, minus, point, zero, nine] = [34, 43, 44, 45, 46, 48, 57] as const
const [largeE, backslash, smallE] = [69, 92, 101] as const
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125] as const
