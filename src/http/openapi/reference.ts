import { openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import { heldFile, holdFiles } from '../../files/package-file.ts'

/** The reference for people. A separate application, as nothing can be added to one that has started. */
export async function openReference(description: unknown): Promise<FastifyInstance> {
  const [{ default: fastify }, { default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ])
  const reference = fastify()
  // Its types know no later version.
  const document = description as OpenAPIV3.Document
  await reference.register(swagger, { mode: 'static', specification: { document } })
  await reference.register(swaggerUi, {
    routePrefix: '/docs',
    baseDir: withinReach(),
    logo: { type: 'image/svg+xml', content: Buffer.from(logo) },
    theme: {
      title: 'Cartage API',
      favicon: [{ ...icon, filename: 'icon.svg', rel: 'icon', sizes: 'any' }],
    },
    uiConfig: { deepLinking: true, docExpansion: 'list', tryItOutEnabled: true, validatorUrl: null },
    staticCSP: {
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': ["'self'", "'unsafe-inline'"],
      'img-src': ["'self'", 'data:'],
      'connect-src': "'self'",
      'frame-ancestors': "'none'",
      'base-uri': "'none'",
    },
  })
  return reference
}

const mark = `<rect width="16" height="16" rx="3.5" fill="#0b6e6e"/>
<path d="M11.5 5.2A4.2 4.2 0 1 0 11.5 10.8" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/>`

const icon = {
  type: 'image/svg+xml',
  content: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${mark}</svg>`,
}

const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 116 16" width="290" height="40">${mark}
<text x="22" y="12.5" font-family="system-ui, sans-serif" font-size="12" font-weight="600" fill="#fff">Cartage API</text></svg>`

/** Loads all its code and files, for a process that may not read them later. */
export async function holdReference(): Promise<void> {
  await holdFiles(files())
  const info = { title: '', version: '' }
  const reference = await openReference({ openapi: '3.0.0', info, paths: {} })
  await reference.inject('/docs/')
  await reference.close()
}

/** A file of the reference that is in memory. */
export function heldReferenceFile(url: string): { type: string; content: Buffer } | undefined {
  const [, name] = /^\/docs\/static\/([\w.-]+)$/.exec(url) ?? []
  const type = name && types[extname(name)]
  const content = type && heldFile(join(files(), name))
  return content ? { type, content } : undefined
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

let folder: string | undefined
let descriptor: number | undefined

/** The folder of its files, found once. */
function files(): string {
  folder ??= join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static')
  return folder
}

/** On Linux, the path of the open folder works without access to its parents. */
function withinReach(): string {
  if (process.platform !== 'linux') return files()
  descriptor ??= openSync(files(), 'r')
  return join('/proc/self/fd', String(descriptor))
}
