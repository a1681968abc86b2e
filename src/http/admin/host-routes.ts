import type { FastifyInstance } from 'fastify'
import { addNewHost, changeAddress } from '../../hosts/add-host.ts'
import { changeHost } from '../../hosts/change-host.ts'
import { listHosts, readHost } from '../../hosts/list-hosts.ts'
import { removeHost } from '../../hosts/remove-host.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { hostChangeSchema, hostListSchema, hostRemovalSchema, newHostSchema } from './host-schemas.ts'
import { readHostChanges, readIsLost, readNewHost, readNoParameters } from './request.ts'

/** The clusters that hold the databases of users. No answer has the role or the password of an address. */
export function hostRoutes(app: FastifyInstance, { installation }: Services): void {
  app.get<{ Querystring: Parameters }>('/hosts', { schema: hostListSchema }, async ({ query }) => {
    readNoParameters(query)
    return { hosts: await listHosts(installation) }
  })

  app.post('/hosts', { schema: newHostSchema, attachValidation: true }, async (request, reply) => {
    const { name, url } = readNewHost(request)
    await addNewHost(installation, name, url)
    return reply.code(201).send(await readHost(installation, name))
  })

  const change = { schema: hostChangeSchema, attachValidation: true }
  app.patch<OneHost>('/hosts/:host', change, async (request) => {
    const { host } = request.params
    const { url, acceptsUsers } = readHostChanges(request)
    if (url !== undefined) await changeAddress(installation, host, url)
    return acceptsUsers === undefined
      ? readHost(installation, host)
      : changeHost(installation, host, acceptsUsers)
  })

  // The schema only describes; the reader reports what is wrong.
  const removal = { schema: hostRemovalSchema, validatorCompiler: () => () => true }
  app.delete<OneHost & { Querystring: Parameters }>('/hosts/:host', removal, async ({ params, query }) => {
    await removeHost(installation, params.host, readIsLost(query))
    return { name: params.host, deleted: true }
  })
}

type OneHost = { Params: { host: string } }
