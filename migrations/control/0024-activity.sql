-- Questions of an operator about what runs now, which every process answers. Only the processes know their statements. Unlogged: a
-- question lives for seconds, and after a crash nobody waits for it.

create unlogged table cartage.activity_questions (
  id         uuid primary key default gen_random_uuid(),
  -- What is asked, as src/activity/question.ts has it.
  asked      json not null,
  -- A process that hears of it later does nothing.
  expires_at timestamptz not null
);

create unlogged table cartage.activity_answers (
  question_id uuid not null references cartage.activity_questions on delete cascade,
  -- The name of the process in the ids of its statements.
  process     text not null,
  answer      json not null,
  primary key (question_id, process)
);
