import { type Activity, summaryJson } from '#training-world';
import { JsonPacker } from './json-packer.js';

/**
 * The packed JSON of every summary. A summary is made when the activity is added, because a list page needs up to 200
 * summaries at once. Making a summary takes ten times as long as unpacking it. 50,000 summaries take about 30 MB.
 */
export class SummaryStore {
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
