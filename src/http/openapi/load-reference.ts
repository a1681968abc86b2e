import { openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

let loading: ReturnType<typeof load> | undefined

/** The code of the reference for people, and the folder of its files, which stays within reach from now on. */
export function loadReference() {
  loading ??= load()
  return loading
}

async function load() {
  const [{ default: fastify }, { default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ])
  const library = dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui'))
  return { fastify, swagger, swaggerUi, folder: withinReach(join(library, 'static')) }
}

/** Linux has a name for what is open. */
function withinReach(folder: string): string {
  return process.platform === 'linux' ? join('/proc/self/fd', String(openSync(folder, 'r'))) : folder
}
