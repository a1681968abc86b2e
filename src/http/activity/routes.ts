import type { FastifyInstance } from 'fastify'
import { ownActivityDocument } from '../../activity/activity-document.ts'
import { type ListedActivity, listActivity } from '../../activity/list-activity.ts'
import type { Account } from '../../auth/account.ts'
import { defaultActivityRecords } from '../../contract/limits.ts'
import { addressedAccount } from '../keys/addressed-account.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import type { Services } from '../services.ts'
import { ownActivitySchema } from './schemas.ts'

/** What runs for the account now, or for a member of the caller's organization. For holders of the master key. */
export async function activityRoutes(app: FastifyInstance, services: Services): Promise<void> {
  forbidStoring(app)
  const look = lookOnce(services)
  const route = { config: { rateGroup: 'tables' }, schema: ownActivitySchema } as const
  app.get('/api/v4/activity', route, async (request) => {
    const caller = await jobsCaller(services, request)
    return ownActivityDocument(await look(await addressedAccount(services, request, caller)))
  })
}

/** All processes are asked for an answer: requests of one account within a second share it. */
function lookOnce({ databases }: Services): (account: Account) => Promise<ListedActivity> {
  const answers = new Map<number, Promise<ListedActivity>>()
  return ({ userId, username }) => {
    const known = answers.get(userId)
    if (known) return known
    const filter = { username, isFull: false, limit: defaultActivityRecords }
    const answer = listActivity(databases, filter)
    answers.set(userId, answer)
    const forget = () => answers.delete(userId)
    answer.then(() => setTimeout(forget, sharedMs).unref(), forget)
    return answer
  }
}

const sharedMs = 1_000
