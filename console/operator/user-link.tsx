import { hrefOf, pathTo } from '../parts/browser/route.ts'

export function UserLink({ username }: Readonly<{ username: string }>) {
  return <a href={hrefOf(pathTo('operator', 'users', username))}>{username}</a>
}
