// Every page, for tests that go through all of them. A page that is added to web/src/pages/index.ts is added here; `axe` compares.

/** Name and path of each page; `tasks` are ids of a fleet: one that failed, one that runs, one that waits. */
export function everyPage({failed, running, waiting, fingerprint}) {
  return [
    ['needs', '/'],
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
    ['dlq', '/dlq'],
    ['dlq-group', `/dlq/${fingerprint}`],
    ['queues', '/queues'],
    ['workers', '/workers'],
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
  return {failed: await one('failed'), running: await one('running'), waiting: await one('pending'), fingerprint: groups[0]?.fingerprint};
}
