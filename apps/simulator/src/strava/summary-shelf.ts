import { type Activity, summaryJson } from '../athletes/index.js';
import { JsonPacker } from './json-packer.js';

/**
 * Every summary, made when its activity comes into being and kept packed: a list page asks for 200 at once, and making
 * them takes ten times as long as unpacking them. 50,000 take some 30 MB.
 */
export class SummaryShelf {
  private readonly packer = new JsonPacker();
  private readonly packed = new Map<string, Buffer>();

  put(activity: Activity): void {
    this.packed.set(activity.id, this.packer.pack(summaryJson(activity)));
  }

  remove(id: string): void {
    this.packed.delete(id);
  }

  clear(): void {
    this.packed.clear();
  }

  json(activities: readonly Activity[]): Buffer {
    return this.packer.array(activities.map(({ id }) => this.packed.get(id)!));
  }
}
