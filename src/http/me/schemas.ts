import { keyTypes } from '../../contract/key-names.ts'
import { answered } from '../middleware/schemas.ts'

const text = { type: 'string' } as const
const whole = { type: 'integer' } as const
const organization = { ...answered({ name: text }), type: ['object', 'null'] } as const

export const meSchema = {
  tags: ['accounts'],
  summary: 'Who am I, and what is left of my quota',
  description: 'The credential alone says who is asking.',
  response: {
    200: {
      description: 'The user of the key',
      ...answered({
        username: text,
        organization,
        key: answered({ name: text, type: { type: 'string', enum: keyTypes } }),
        config: answered({ user_name: text }),
        api_endpoints: answered({ sql: text, maps: text, import: text, auth: text }),
        user_data: answered(
          {
            id: text,
            username: text,
            organization,
            base_url: text,
            quota_in_bytes: whole,
            db_size_in_bytes: whole,
            remaining_byte_quota: { ...whole, description: 'Absent: unlimited' },
            table_count: whole,
            copy_max_bytes: { ...whole, description: 'The largest body of one copyfrom' },
            created_at: { type: 'string', format: 'date-time' },
          },
          ['remaining_byte_quota'],
        ),
      }),
    },
  },
} as const
