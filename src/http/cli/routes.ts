import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { errors } from '../../errors.ts'
import { packageFile, readPackageFile } from '../../files/package-file.ts'
import { commandLineSchema } from './schemas.ts'

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
