export type Schema = Readonly<{
  $ref?: string
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  allOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
}>
type Contents = Readonly<{ content?: Readonly<Record<string, { schema: Schema }>> }>
type Parameter = Readonly<{ name: string; in: string; required?: boolean; schema: Schema }>
export type Operation = Readonly<{
  parameters?: readonly Parameter[]
  requestBody?: Contents
  responses: Readonly<Record<string, Contents>>
}>
export type Description = Readonly<{
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  components: { schemas: Readonly<Record<string, Schema>> }
}>

/** A schema of an OpenAPI document as a TypeScript type. */
export function typeOf(schema: Schema, description: Description): string {
  const inner = (each: Schema) => typeOf(each, description)
  if (schema.$ref !== undefined) return inner(description.components.schemas[schema.$ref.split('/').at(-1)!]!)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return choices.map((each) => `(${inner(each)})`).join(' | ')
  if (schema.allOf) return schema.allOf.map((each) => `(${inner(each)})`).join(' & ')
  const types = schema.type === undefined ? [] : [schema.type].flat()
  return types.map((type) => plainType(type, schema, inner)).join(' | ') || 'unknown'
}

/** Parameters as the members of one object. */
export function objectOf(parameters: readonly Parameter[]): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  }
}

function plainType(type: string, schema: Schema, inner: (schema: Schema) => string): string {
  if (type === 'integer') return 'number'
  if (type === 'array') return `readonly (${schema.items ? inner(schema.items) : 'unknown'})[]`
  return type === 'object' ? objectType(schema, inner) : type
}

function objectType(
  { properties, required = [], additionalProperties }: Schema,
  inner: (schema: Schema) => string,
) {
  if (!properties) {
    const values = typeof additionalProperties === 'object' ? inner(additionalProperties) : 'unknown'
    return `Record<string, ${values}>`
  }
  const members = Object.entries(properties).map(
    ([name, each]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${inner(each)}`,
  )
  return `{ ${members.join('; ')} }`
}
