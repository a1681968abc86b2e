export type TileLayer = Readonly<{ name: string; features: number; sum: number }>

/** Reads the layers of a vector tile: name, number of features, and the sum of `n`. */
export function readVectorTile(tile: Uint8Array): TileLayer[] {
  return fieldsOf(tile).flatMap(([field, layer]) =>
    field === 3 && layer instanceof Uint8Array ? [readLayer(layer)] : [],
  )
}

function readLayer(layer: Uint8Array): TileLayer {
  const fields = fieldsOf(layer)
  const all = (wanted: number) =>
    fields.flatMap(([field, value]) => (field === wanted && value instanceof Uint8Array ? [value] : []))
  const [name = new Uint8Array()] = all(1)
  const values = all(4).map((value) => Number(fieldsOf(value)[0]?.[1]))
  // The tags of a feature are indexes of a key and its value. `n` is the only key.
  const sums = all(2).map((feature) => {
    const tags = fieldsOf(feature).find(([field]) => field === 2)?.[1]
    return tags instanceof Uint8Array ? values[varints(tags)[1]!]! : 0
  })
  return {
    name: Buffer.from(name).toString(),
    features: sums.length,
    sum: sums.reduce((sum, each) => sum + each, 0),
  }
}

type Field = readonly [field: number, value: number | Uint8Array]

/** The fields of a protocol buffers message: numbers and byte strings. */
function fieldsOf(message: Uint8Array): Field[] {
  const fields: Field[] = []
  for (let at = 0; at < message.length; ) {
    const [key, afterKey] = varint(message, at)
    const [value, afterValue] = varint(message, afterKey)
    const isBytes = key % 8 === 2
    at = isBytes ? afterValue + value : afterValue
    fields.push([Math.floor(key / 8), isBytes ? message.subarray(afterValue, at) : value])
  }
  return fields
}

function varints(bytes: Uint8Array): number[] {
  const found: number[] = []
  for (let at = 0; at < bytes.length; ) {
    const [value, next] = varint(bytes, at)
    found.push(value)
    at = next
  }
  return found
}

function varint(bytes: Uint8Array, from: number): readonly [value: number, next: number] {
  let value = 0
  for (let at = from, factor = 1; ; at++, factor *= 128) {
    value += (bytes[at]! % 128) * factor
    if (bytes[at]! < 128) return [value, at + 1]
  }
}
