import type { Entry } from './frame/entry.ts'
import { inFrame } from './frame/frame.ts'
import { seconds } from './frame/measure.ts'

export const entries: readonly Entry[] = [
  {
    name: 'user-creation',
    title: 'Creating a user over HTTP: database, roles and keys, once warm',
    baseline: 'bare CREATE DATABASE ... TEMPLATE',
    unit: 's',
    aim: '2 or less',
    pairs: 15,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService()
      const client = await frame.connect()
      const template = `${service.namespace}_template`
      return {
        baseline: async () => {
          const taken = await seconds(() => client.query(`create database bare template "${template}"`))
          await client.query('drop database bare')
          return taken
        },
        ours: async () => {
          const taken = await seconds(() => service.admin('POST', '/users', { username: 'someone' }))
          await service.admin('DELETE', '/users/someone')
          return taken
        },
      }
    }),
  },
]
