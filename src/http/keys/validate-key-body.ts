/** The part of JSON Schema that the bodies of the key endpoints need. */
export type BodyShape =
  | Readonly<{ type: 'string'; enum?: readonly string[]; description?: string }>
  | Readonly<{ type: 'array'; items?: BodyShape; description?: string }>
  | Readonly<{
      type: 'object'
      required: readonly string[]
      properties: Readonly<Record<string, BodyShape | Readonly<{ description: string }>>>
      additionalProperties: false
      description?: string
    }>

/**
 * The first fault, in the words that clients of the key endpoints know; undefined if there is none. Only the first: a
 * hostile body of a megabyte must not become a list of faults.
 */
export function faultOf(shape: BodyShape, value: unknown, path: string): string | undefined {
  if (typeOf(value) !== shape.type) {
    return `The property '${path}' of type ${typeOf(value)} did not match the following type: ${shape.type}`
  }
  switch (shape.type) {
    case 'string':
      return faultOfString(shape.enum, value as string, path)
    case 'array':
      return shape.items && faultOfItems(shape.items, value as readonly unknown[], path)
    case 'object':
      return faultOfMembers(shape, value as Readonly<Record<string, unknown>>, path)
  }
}

type ObjectShape = Extract<BodyShape, { type: 'object' }>

function faultOfString(allowed: readonly string[] | undefined, value: string, path: string) {
  if (allowed === undefined || allowed.includes(value)) return undefined
  return `The property '${path}' value ${quote(value)} did not match one of the following values: ${allowed.join(', ')}`
}

function faultOfItems(shape: BodyShape, items: readonly unknown[], path: string): string | undefined {
  for (const [index, item] of items.entries()) {
    const fault = faultOf(shape, item, `${path}/${index}`)
    if (fault) return fault
  }
  return undefined
}

function faultOfMembers(
  { required, properties }: ObjectShape,
  value: Readonly<Record<string, unknown>>,
  path: string,
): string | undefined {
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined)
    return `The property '${path}' did not contain a required property of '${missing}'`
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(properties, name))
  if (unknown !== undefined) {
    return `The property '${path}' contains additional properties [${quote(unknown)}] outside of the schema when none are allowed`
  }
  for (const [name, shape] of Object.entries(properties)) {
    if (!('type' in shape) || !Object.hasOwn(value, name)) continue
    const fault = faultOf(shape, value[name], `${path}/${name}`)
    if (fault) return fault
  }
  return undefined
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const quote = (text: string) => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text)
