/**
 * An answer that takes long. Proxies and clients close connections on which nothing comes for a while, so it begins with white
 * space, which JSON allows, once that while is near.
 */
import { jsonStream, jsonText } from "./answer.ts";

/** How long nothing may come, in milliseconds. Half of the shortest common limit, 30 s. */
const SILENCE = 15_000;

const SPACE = Uint8Array.of(0x20);

export interface LateAnswer {
  /** JSON. Never rejects: an error that comes late is JSON too. */
  readonly text: Promise<string>;
  /** Nobody is there any more to read it. */
  readonly hangUp: () => void;
}

/** Answers whole if the text is there in time, else in a stream that keeps the connection open until it is. */
export async function answerLate(answer: LateAnswer, echo: string | undefined): Promise<Response> {
  const silence = Promise.withResolvers<undefined>();
  const timer = setTimeout(silence.resolve, SILENCE, undefined);
  const text = await Promise.race([answer.text, silence.promise]);
  clearTimeout(timer);
  return text === undefined ? jsonStream(spacesThen(answer), echo) : jsonText(text, echo);
}

function spacesThen({ text, hangUp }: LateAnswer): ReadableStream<Uint8Array> {
  let timer: NodeJS.Timeout;
  let read = true;
  const finish = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const json = await text;
    clearInterval(timer);
    if (!read) return;
    controller.enqueue(new TextEncoder().encode(json));
    controller.close();
  };
  return new ReadableStream({
    start(controller) {
      const space = () => controller.enqueue(SPACE);
      space();
      timer = setInterval(space, SILENCE);
      void finish(controller);
    },
    cancel() {
      read = false;
      clearInterval(timer);
      hangUp();
    },
  });
}
