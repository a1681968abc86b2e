import type { OpenAPIV3_1 as OpenApi } from 'openapi-types'

type Schemas = NonNullable<OpenApi.ComponentsObject['schemas']>

/** Documents that clients have types for: a schema with one of these titles becomes a reference to it. */
const names = new Set([
  ...['Job', 'JobItem', 'Key', 'Grant', 'Table', 'Error', 'KeyError'],
  ...['User', 'UserWithToken', 'Organization', 'OrganizationWithToken'],
  ...['Host', 'Check', 'AuditRecord', 'Activity'],
])

/** Moves named schemas into the components of the document. */
export function nameSchemas(document: Partial<OpenApi.Document>): Partial<OpenApi.Document> {
  const schemas: Schemas = { ...document.components?.schemas }
  const paths = replaceNamed(document.paths, schemas) as OpenApi.PathsObject
  return { ...document, paths, components: { ...document.components, schemas } }
}

function replaceNamed(value: unknown, schemas: Schemas): unknown {
  if (Array.isArray(value)) return value.map((each) => replaceNamed(each, schemas))
  if (typeof value !== 'object' || value === null) return value
  const replaced = Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, replaceNamed(each, schemas)]),
  )
  const { title, description: _ofThisPlace, ...schema } = replaced
  if (typeof title !== 'string' || !names.has(title)) return replaced
  schemas[title] ??= { title, ...schema } as OpenApi.SchemaObject
  return { $ref: `#/components/schemas/${title}` }
}
