import { JobsModule } from '#jobs';
import { WriteBackModule } from '#write-back';

export const jobsModule = JobsModule.asking();
export const writeBackModule = WriteBackModule.asking();
