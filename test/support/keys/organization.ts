import type { Setup } from '../service/setup.ts'

/** Creates an organization with this many members, its owner included, and returns its name. */
export async function organizationOf(house: Setup, members: number): Promise<string> {
  const { name } = await house.createOrganization()
  for (let count = 1; count < members; count++) await house.createUser({ organization: name })
  return name
}
