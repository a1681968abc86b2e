import type { FastifyInstance } from 'fastify'
import { addReplica } from '../../hosts/replicas/add-replica.ts'
import { listReplicas } from '../../hosts/replicas/list-replicas.ts'
import { removeReplica } from '../../hosts/replicas/remove-replica.ts'
import type { Services } from '../services.ts'
import { newReplicaSchema, replicaListSchema, replicaRemovalSchema } from './replica-schemas.ts'
import { readNewReplica } from './request.ts'

/** Standbys of hosts that may answer reads. */
export function replicaRoutes(app: FastifyInstance, { installation }: Services): void {
  app.get<OfHost>(all, { schema: replicaListSchema }, async ({ params }) => ({
    replicas: await listReplicas(installation, params.host),
  }))

  app.post<OfHost>(all, { schema: newReplicaSchema, attachValidation: true }, async (request, reply) => {
    const replica = await addReplica(installation, {
      ...readNewReplica(request),
      host: request.params.host,
    })
    return reply.code(201).send(replica)
  })

  app.delete<OneReplica>(`${all}/:replica`, { schema: replicaRemovalSchema }, async ({ params }) => {
    await removeReplica(installation, params.replica, params.host)
    return { name: params.replica, deleted: true }
  })
}

type OfHost = { Params: { host: string } }
type OneReplica = { Params: { host: string; replica: string } }
const all = '/hosts/:host/replicas'
