interface ChangeEvent<Change> {
  /** A cursor. The first event and the heartbeats have nothing else. */
  readonly id: string;
  readonly change?: Change;
}

/** The events of `GET /v1/events`. */
export async function* eventsOf<Change>(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ChangeEvent<Change>> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const id = /^id: (.*)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (id) yield { id, ...(data && { change: JSON.parse(data) as Change }) };
    }
  }
}
