import { remembered } from '../../remembered.ts'
import { arrayParts } from './array-parts.ts'
import { type ByteWriter, chunkBytes, sources, targets } from './byte-writer.ts'
import { areShown, type Column } from './columns.ts'
import {
  longestJson,
  writeAscii,
  writeBytes,
  writeEscaped,
  writeHex,
  writeJsonText,
  writeJsonValue,
} from './json-values.ts'
import { elementOidOf, kindOf, type ValueKind, valueKind } from './pg-types.ts'

/** How the rows of a result become objects: the bytes before each value, and how the value is written. */
export type ObjectPlan = Readonly<{
  kinds: readonly ValueKind[]
  typeOids: readonly number[]
  /** `{"first":` and `,"second":`, ready to be copied. */
  keys: readonly KeyBytes[]
  /** The room that a row needs besides its values. */
  keyBytes: number
  /** No column is shown, so none opens the object. */
  isEmpty: boolean
}>

/** `words` has the same bytes, four at a time, padded with zeros. */
type KeyBytes = Readonly<{ bytes: Buffer; length: number; words: Int32Array }>

export function planObjects(columns: readonly Column[], skipped: ReadonlySet<string>): ObjectPlan {
  return skipped.size === 0 ? planWhole(columns) : plan(columns, skipped)
}

const planWhole = remembered((columns: readonly Column[]) => plan(columns, new Set()))

function plan(columns: readonly Column[], skipped: ReadonlySet<string>): ObjectPlan {
  const isShown = areShown(columns, skipped)
  const first = isShown.indexOf(true)
  const keys = columns.map(({ name }, place) =>
    keyOf(`${place === first ? '{' : ','}${JSON.stringify(name)}:`),
  )
  return {
    kinds: columns.map(({ typeOid, isBinary }, place) => {
      if (!isShown[place]) return valueKind.hidden
      return isBinary ? valueKind.binary : kindOf(typeOid)
    }),
    typeOids: columns.map(({ typeOid }) => typeOid),
    keys,
    keyBytes: keys.reduce((sum, key) => sum + key.length + longestJson(0), 2),
    isEmpty: first === -1,
  }
}

function keyOf(text: string): KeyBytes {
  const bytes = Buffer.from(text)
  const padded = Buffer.concat([bytes, Buffer.alloc(3)])
  const words = Int32Array.from({ length: Math.ceil(bytes.length / 4) }, (_, place) =>
    padded.readInt32LE(4 * place),
  )
  return { bytes, length: bytes.length, words }
}

/** Writes a DataRow as an object, column by column. */
export function writeObject(
  out: ByteWriter,
  plan: ObjectPlan,
  row: Buffer,
  start: number,
  end: number,
): void {
  const room = plan.keyBytes + longestJson(end - start)
  if (room > chunkBytes) {
    for (const _ of writeLongObject(out, plan, row, start));
  } else {
    out.ensure(room)
    out.at = writeShortObject(out.bytes, out.at, plan, row, start)
  }
}

/** The hot loop: there is room for the whole row. */
function writeShortObject(
  target: Buffer,
  start: number,
  { kinds, keys, typeOids, isEmpty }: ObjectPlan,
  row: Buffer,
  rowStart: number,
): number {
  const into = targets.viewOf(target)
  const lengths = sources.viewOf(row)
  let to = start
  let at = rowStart + 2
  for (let place = 0; place < kinds.length; place += 1) {
    const length = lengths.getInt32(at)
    const valueStart = at + 4
    at = length < 0 ? valueStart : valueStart + length
    const kind = kinds[place]!
    if (kind === valueKind.hidden) continue
    const { words, length: keyLength } = keys[place]!
    for (let word = 0; word < words.length; word += 1) into.setInt32(to + 4 * word, words[word]!, true)
    to += keyLength
    to =
      length < 0
        ? writeAscii(target, to, 'null')
        : writeJsonValue(target, to, kind, typeOids[place]!, row, valueStart, at)
  }
  if (isEmpty) target[to++] = openingBrace
  target[to++] = closingBrace
  return to
}

/** A row that may not fit into a chunk is written value by value, in short steps. */
export function* writeLongObject(
  out: ByteWriter,
  plan: ObjectPlan,
  row: Buffer,
  start: number,
): Generator<void> {
  let at = start + 2
  for (const [place, kind] of plan.kinds.entries()) {
    const length = row.readInt32BE(at)
    const valueStart = at + 4
    at = length < 0 ? valueStart : valueStart + length
    if (kind === valueKind.hidden) continue
    const { bytes } = plan.keys[place]!
    out.copy(bytes, 0, bytes.length)
    if (length < 0) out.ascii('null')
    else yield* writeLongValue(out, kind, plan.typeOids[place]!, row, valueStart, at)
  }
  out.ascii(plan.isEmpty ? '{}' : '}')
}

function* writeLongValue(
  out: ByteWriter,
  kind: ValueKind,
  typeOid: number,
  row: Buffer,
  start: number,
  end: number,
): Generator<void> {
  const room = longestJson(end - start)
  if (room <= chunkBytes) {
    out.ensure(room)
    out.at = writeJsonValue(out.bytes, out.at, kind, typeOid, row, start, end)
  } else if (kind === valueKind.jsonb) yield* writeSlices(out, writeBytes, row, start, end)
  else if (kind === valueKind.json) yield* writeSlices(out, writeJsonText, row, start, end)
  else if (kind === valueKind.array) yield* writeLongArray(out, typeOid, row, start, end)
  else if (kind === valueKind.binary) {
    out.ascii('"\\\\x')
    yield* writeSlices(out, writeHex, row, start, end)
    out.ascii('"')
  } else if (kind === valueKind.number) {
    // PostgreSQL's longest number has some 150,000 digits.
    const own = Buffer.allocUnsafe(room)
    out.copy(own, 0, writeJsonValue(own, 0, kind, typeOid, row, start, end))
  } else {
    out.ascii('"')
    yield* writeSlices(out, writeEscaped, row, start, end)
    out.ascii('"')
  }
}

function* writeLongArray(
  out: ByteWriter,
  typeOid: number,
  row: Buffer,
  start: number,
  end: number,
): Generator<void> {
  const elementOid = elementOidOf(typeOid)
  const kind = kindOf(elementOid)
  let parts = 0
  for (const part of arrayParts(row, start, end)) {
    if (typeof part === 'string') out.ascii(part)
    else yield* writeLongValue(out, kind, elementOid, part.source, part.start, part.end)
    parts += 1
    if (parts % partsPerStep === 0) yield
  }
}

function* writeSlices(
  out: ByteWriter,
  write: typeof writeEscaped,
  row: Buffer,
  start: number,
  end: number,
): Generator<void> {
  for (let from = start; from < end; from += sliceBytes) {
    const to = Math.min(from + sliceBytes, end)
    out.ensure(longestJson(to - from))
    out.at = write(out.bytes, out.at, row, from, to)
    yield
  }
}

const openingBrace = 0x7b
const closingBrace = 0x7d
const sliceBytes = 8192
const partsPerStep = 1000
