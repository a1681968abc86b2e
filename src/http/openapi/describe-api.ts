import { type FastifyInstance, fastify, type RouteOptions } from 'fastify'
import type { OpenAPIV3_1 as OpenApi } from 'openapi-types'
import { operations } from '../../contract/operations.ts'
import { readVersion } from '../../files/package-file.ts'
import { keySecurity } from '../middleware/schemas.ts'
import { commonAnswers, components } from './answers.ts'
import { nameSchemas } from './name-schemas.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI document, made on first use. */
    apiDescription: () => Promise<object>
  }
  interface FastifyContextConfig {
    /** A HEAD that is not only the GET without its body. */
    isHeadDescribed?: boolean
  }
}

/**
 * Describes the API from the schemas of its routes, which are registered after this; adds to each what all routes of an
 * area share (credentials, errors).
 */
export function describeApi(app: FastifyInstance, publicUrl: string): void {
  // The schemas describe answers but do not shape them: a member without a schema must not be lost.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer))
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    if (isDescribed(route)) routes.push(route)
  })
  let description: Promise<object> | undefined
  app.decorate('apiDescription', () => {
    description ??= describe(routes, publicUrl)
    return description
  })
}

function isDescribed({ schema, url, method, config }: RouteOptions): boolean {
  const isQuiet = ['HEAD', 'OPTIONS'].includes([method].flat()[0]!) && !config?.isHeadDescribed
  return Boolean(schema?.tags) && !schema?.hide && !url.startsWith('/u/') && !isQuiet
}

/**
 * With a separate application that has the same routes and serves no requests: the description is rarely needed, and
 * its code is large.
 */
async function describe(routes: readonly RouteOptions[], publicUrl: string): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger')
  const app = fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(swagger, {
    exposeHeadRoutes: true,
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Cartage',
        version: readVersion(),
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl || '/' }],
      tags: Object.entries(areas).map(([name, area]) => ({ name, description: area.description })),
      components,
    },
    transformObject: (document) => complete((document as { openapiObject: Described }).openapiObject),
  })
  for (const { method, url, schema } of routes) {
    app.route({ method, url, schema: schema!, handler: async () => undefined })
  }
  await app.ready()
  return app.swagger()
}

const description =
  'API keys that are PostgreSQL roles, batch SQL jobs and bulk COPY. `/u/{name}/...` is an alias of `/user/{name}/...`.'

type Described = Partial<OpenApi.Document>

const withOrWithoutKey = [...keySecurity, {}]
const withoutKey: OpenApi.SecurityRequirementObject[] = []

const areas: Readonly<
  Record<string, Readonly<{ description: string; security: OpenApi.SecurityRequirementObject[] }>>
> = {
  keys: { description: 'API keys and their grants; needs a master key', security: keySecurity },
  jobs: { description: 'Batch SQL; needs a master key', security: keySecurity },
  schedules: { description: 'Jobs by the clock; needs a master key', security: keySecurity },
  copy: { description: 'Bulk data in and out; without a key as the public', security: withOrWithoutKey },
  sql: { description: 'SQL answered at once; without a key as the public', security: withOrWithoutKey },
  tables: { description: "The account's tables", security: withOrWithoutKey },
  maps: { description: 'Vector tiles; without a key as the public', security: withOrWithoutKey },
  accounts: { description: 'Who is asking', security: keySecurity },
  admin: {
    description: 'Users, organizations and the installation, for the operator',
    security: [{ AdminToken: [] }],
  },
  operations: { description: 'Health and figures of the process', security: withoutKey },
}

function complete(document: Described): Described {
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods ?? {})) {
      completeOperation(method.toUpperCase(), path, operation as OpenApi.OperationObject)
    }
  }
  return nameSchemas(document)
}

function completeOperation(method: string, path: string, operation: OpenApi.OperationObject): void {
  const area = operation.tags?.[0] ?? ''
  const id = Object.entries(operations).find(([, known]) => known[0] === method && known[1] === path)?.[0]
  if (id) operation.operationId = id
  operation.security ??= areas[area]?.security ?? withoutKey
  operation.responses = { ...commonAnswers(area), ...withoutDefault(operation.responses ?? {}) }
}

/** For a route without answers the generator invents one. */
function withoutDefault(responses: OpenApi.ResponsesObject): OpenApi.ResponsesObject {
  const { 200: ok, ...others } = responses
  const isInvented = ok && 'description' in ok && ok.description === 'Default Response' && !('content' in ok)
  return isInvented ? { ...others, 200: { description: 'Success' } } : responses
}
