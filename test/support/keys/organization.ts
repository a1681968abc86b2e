import type { Setup } from '../service/setup.ts'

/** The name of an organization with so many members. Its owner is one of them. */
export async function organizationOf(house: Setup, members: number): Promise<string> {
  const { name } = await house.createOrganization()
  for (let count = 1; count < members; count++) await house.createUser({ organization: name })
  return name
}
