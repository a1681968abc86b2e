import type { FastifyInstance } from 'fastify'
import { listBackups } from '../../accounts/restore/backup-folder.ts'
import { restoreDocument } from '../../accounts/restore/restore-document.ts'
import { findRestore, listRestores } from '../../accounts/restore/user-restore-store.ts'
import { cancelRestore } from '../../accounts/restore/user-restores.ts'
import { errors } from '../../errors.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { readMoveLimit, readNewRestore, readNoParameters } from './request.ts'
import {
  backupListSchema,
  newRestoreSchema,
  restoreCancelSchema,
  restoreListSchema,
  restoreSchema,
} from './restore-schemas.ts'

/** Users of backups that become new users. */
export function restoreRoutes(app: FastifyInstance, { installation, config, restores }: Services): void {
  const { control } = installation.databases
  // The schemas of queries only describe; the readers report what is wrong.
  const described = { validatorCompiler: () => () => true } as const

  app.get<{ Querystring: Parameters }>('/backups', { schema: backupListSchema }, async ({ query }) => {
    readNoParameters(query)
    return { backups: await listBackups(config.backupDir) }
  })

  app.post('/restores', { schema: newRestoreSchema, attachValidation: true }, async (request, reply) =>
    reply.code(202).send(restoreDocument(await restores.request(readNewRestore(request)))),
  )

  const listing = { ...described, schema: restoreListSchema }
  app.get<{ Querystring: Parameters }>('/restores', listing, async ({ query }) => ({
    restores: (await listRestores(control, readMoveLimit(query))).map(restoreDocument),
  }))

  app.get<OneRestore>('/restores/:restore', { schema: restoreSchema }, async ({ params }) => {
    const found = await findRestore(control, idOf(params.restore))
    if (!found) throw errors.restoreUnknown(params.restore)
    return restoreDocument(found)
  })

  app.delete<OneRestore>('/restores/:restore', { schema: restoreCancelSchema }, async ({ params }, reply) =>
    reply.code(202).send(restoreDocument(await cancelRestore(installation, idOf(params.restore)))),
  )
}

type OneRestore = { Params: { restore: string } }

function idOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw errors.restoreUnknown(text.slice(0, 100))
  return Number(text)
}
