const text = { type: 'string' } as const
const whole = { type: 'integer' } as const
const organization = { type: ['object', 'null'], properties: { name: text } } as const

export const meSchema = {
  tags: ['accounts'],
  summary: 'Who am I, and what is left of my quota',
  description: 'The credential alone says who is asking.',
  response: {
    200: {
      description: 'The user whose key asks',
      type: 'object',
      required: ['username', 'organization', 'config', 'api_endpoints', 'user_data'],
      properties: {
        username: text,
        organization,
        config: { type: 'object', properties: { user_name: text } },
        api_endpoints: {
          type: 'object',
          properties: { sql: text, maps: text, import: text, auth: text },
        },
        user_data: {
          type: 'object',
          properties: {
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
        },
      },
    },
  },
} as const
