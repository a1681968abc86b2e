import type { FastifyInstance } from 'fastify'
import { drainDocument } from '../../accounts/moves/drain-document.ts'
import { moveDocument } from '../../accounts/moves/move-document.ts'
import { findMove, listMoves } from '../../accounts/moves/move-store.ts'
import { errors } from '../../errors.ts'
import type { WithQuery } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import {
  drainSchema,
  moveCancelSchema,
  moveListSchema,
  moveSchema,
  newMoveSchema,
  newOrganizationMoveSchema,
} from './move-schemas.ts'
import { type OneOrganization, type OneUser, readDrain, readMoveLimit, readNewMove } from './request.ts'

/** Users and organizations that move to another host, and hosts that give all they have. */
export function moveRoutes(app: FastifyInstance, { installation, moves }: Services): void {
  const { control } = installation.databases
  const checked = { attachValidation: true } as const
  const creation = { ...checked, schema: newMoveSchema }
  app.post<OneUser>('/users/:username/move', creation, async (request, reply) => {
    const wanted = { kind: 'user', name: request.params.username } as const
    return reply.code(202).send(moveDocument(await moves.request(wanted, readNewMove(request))))
  })

  const group = { ...checked, schema: newOrganizationMoveSchema }
  app.post<OneOrganization>('/organizations/:organization/move', group, async (request, reply) => {
    const wanted = { kind: 'organization', name: request.params.organization } as const
    return reply.code(202).send(moveDocument(await moves.request(wanted, readNewMove(request))))
  })

  // The schema only describes; the reader reports what is wrong.
  const listing = { schema: moveListSchema, validatorCompiler: () => () => true }
  app.get<WithQuery>('/moves', listing, async ({ query }) => ({
    moves: (await listMoves(control, readMoveLimit(query))).map(moveDocument),
  }))

  app.get<{ Params: { move: string } }>('/moves/:move', { schema: moveSchema }, async ({ params }) => {
    const move = await findMove(control, idOf(params.move))
    if (!move) throw errors.moveUnknown(params.move)
    return moveDocument(move)
  })

  app.delete<{ Params: { move: string } }>(
    '/moves/:move',
    { schema: moveCancelSchema },
    async (request, reply) =>
      reply.code(202).send(moveDocument(await moves.cancel(idOf(request.params.move)))),
  )

  const draining = { ...checked, schema: drainSchema }
  app.post<{ Params: { host: string } }>('/hosts/:host/drain', draining, async (request, reply) =>
    reply.code(202).send(drainDocument(await moves.drain(request.params.host, readDrain(request)))),
  )
}

function idOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw errors.moveUnknown(text.slice(0, 100))
  return Number(text)
}
