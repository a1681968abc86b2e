import { type Benchmark, seconds } from './frame/benchmark.ts'

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'user-creation',
    title: 'creating a user with database, roles and keys, once warm',
    unit: 's',
    rounds: 15,
    prepare: async (frame) => {
      const service = await frame.startService()
      const client = await frame.connect()
      // The first user makes the template.
      await service.admin('POST', '/users', { username: 'first' })
      const template = `${service.namespace}_template`
      return {
        baseline: {
          name: 'bare CREATE DATABASE ... TEMPLATE',
          measure: async () => {
            const taken = await seconds(() => client.query(`create database bare template "${template}"`))
            await client.query('drop database bare')
            return taken
          },
        },
        candidates: [
          {
            name: 'POST /admin/v1/users',
            measure: async () => {
              const taken = await seconds(() => service.admin('POST', '/users', { username: 'someone' }))
              await service.admin('DELETE', '/users/someone')
              return taken
            },
          },
        ],
      }
    },
  },
]
