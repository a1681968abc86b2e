import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { errors } from '../../errors.ts'
import { packageFile, readPackageFile } from '../../files/package-file.ts'

/** The command line for people: one file made by the build, which needs only Node. */
export async function cliRoutes(app: FastifyInstance): Promise<void> {
  const bytes = await readPackageFile(packageFile('dist/cartage-cli.mjs')).catch(nothingIfMissing)
  const etag = bytes && `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`

  app.get('/cli/cartage', { schema: commandLineSchema }, async ({ headers }, reply) => {
    if (!bytes || !etag) throw errors.notFound('The command line, which is not in this build,')
    reply.headers({ ETag: etag, 'Cache-Control': 'no-cache' })
    if (headers['if-none-match']?.includes(etag)) return reply.code(304).send()
    return reply
      .type('application/octet-stream')
      .header('Content-Disposition', 'attachment; filename="cartage"')
      .send(bytes)
  })
}

function nothingIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

const commandLineSchema = {
  tags: ['operations'],
  summary: 'The command line for people as one executable file for Node 20 or later',
  description: 'curl -fsSo cartage http://HOST:8080/cli/cartage && chmod +x cartage',
  response: {
    200: {
      description: 'The file',
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    },
    304: { description: 'It is still the one of the ETag', type: 'null' },
  },
} as const
