import { addReplica } from '../../hosts/replicas/add-replica.ts'
import { listReplicas } from '../../hosts/replicas/list-replicas.ts'
import { removeReplica } from '../../hosts/replicas/remove-replica.ts'
import type { Command } from '../command.ts'
import { textOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'
import { hostUrl } from './hosts.ts'

const add: Command['run'] = async ({ args, values }) => {
  const name = args[0]!
  const host = textOf(values, 'of') ?? 'local'
  const url = await hostUrl('host replica add', textOf(values, 'url'), textOf(values, 'url-file'))
  const replica = await asOperator((installation) => addReplica(installation, { name, host, url }))
  return { document: replica, lines: [`replica ${name} of host ${host} answers reads once it has caught up`] }
}

const list: Command['run'] = async ({ values }) => {
  const replicas = await asOperator((installation) => listReplicas(installation, textOf(values, 'of')))
  return {
    document: { replicas },
    lines: replicas.map(({ name, host, address }) => `${name} of host ${host} at ${address}`),
  }
}

const remove: Command['run'] = async ({ args }) => {
  const name = args[0]!
  await asOperator((installation) => removeReplica(installation, name))
  return { document: { name, removed: true }, lines: [`removed replica ${name}`] }
}

export const replicaRuns = {
  'host replica add': add,
  'host replica list': list,
  'host replica remove': remove,
} as const
