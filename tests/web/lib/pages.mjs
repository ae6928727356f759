// Every page, for tests that go through all of them. A page that is added to web/src/pages/index.ts is added here; `axe` compares.

/** Name and path of each page. Of a fleet: ids of tasks that failed, run, wait and ask, and what a session and a conversation are called. */
export function everyPage({failed, running, waiting, fingerprint, asking = waiting, session = 'ann/reviewer', conversation = 'ann/agent-7'}) {
  return [
    ['needs', '/'],
    ['questions', '/questions'],
    ['questions-answered', '/questions?state=answered'],
    ['overview', '/overview'],
    ['overview-day', '/overview?span=24h'],
    ['tasks', '/tasks'],
    ['tasks-peek', `/tasks?q=state:failed&peek=${failed}`],
    ['tasks-none', '/tasks?q=type:nothing'],
    ['task-log', `/tasks/${running}?tab=log`],
    ['task-transcript', `/tasks/${running}?tab=transcript`],
    ['task-data', `/tasks/${failed}?tab=data`],
    ['task-report', `/tasks/${failed}?tab=report`],
    ['task-events', `/tasks/${failed}?tab=events`],
    ['task-graph', `/tasks/${failed}?tab=graph`],
    ['task-waiting', `/tasks/${waiting}`],
    ['task-asking', `/tasks/${asking}?tab=log`],
    ['dlq', '/dlq'],
    ['dlq-group', `/dlq/${fingerprint}`],
    ['queues', '/queues'],
    ['workers', '/workers'],
    ['sessions', '/sessions'],
    ['session', `/sessions/${session}`],
    ['conversations', '/conversations'],
    ['conversation', `/conversations/${conversation}`],
    ['alerts', '/alerts'],
    ['costs', '/costs'],
    ['costs-model', '/costs?by=model'],
    ['settings', '/settings'],
    ['settings-tokens', '/settings?tab=tokens'],
    ['settings-signins', '/settings?tab=signins'],
    ['settings-policy', '/settings?tab=policy'],
    ['settings-audit', '/settings?tab=audit'],
    ['not-found', '/nowhere'],
  ];
}

/** Tasks of a fleet that show the most. */
export async function exemplars(server) {
  const one = async state => (await server.api('GET', `/v1/tasks?state=${state}&limit=1&view=summary`)).tasks[0]?.id;
  const {groups} = await server.api('GET', '/v1/dlq');
  const {questions} = await server.api('GET', '/v1/questions?state=open');
  const asking = questions.at(-1)?.task_id ?? undefined;
  return {failed: await one('failed'), running: await one('running'), waiting: await one('pending'), fingerprint: groups[0]?.fingerprint, asking};
}
