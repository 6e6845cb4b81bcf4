import { describe, expect, it } from 'vitest';
import { ratesOf, readSample } from './metrics';

const TEXT = `# HELP pawl_steps_total Steps
# TYPE pawl_steps_total counter
pawl_steps_total{status="failed"} 2
pawl_steps_total{status="success",node="a b"} 40
pawl_steps_total_other 7
pawl_executions_started_total 3
pawl_commit_duration_seconds_bucket{le="+Inf"} 9
pawl_commit_duration_seconds_sum 0.5
pawl_commit_duration_seconds_count 10
pawl_process_resident_memory_bytes 8.1e7
pawl_process_resident_memory_bytes NaN
`;

describe('the metrics of the process', () => {
  it('are summed over their labels, by their whole name', () => {
    expect(readSample(TEXT, 5)).toEqual({ at: 5, started: 3, ended: 0, steps: 42, commits: 10, commitSeconds: 0.5, memory: 81_000_000 });
  });
  it('become rates between two samples, and nothing where the process began anew', () => {
    const at = (seconds: number, steps: number, commits: number, commitSeconds: number) => ({
      ...readSample('', seconds),
      steps,
      commits,
      commitSeconds,
    });
    const rates = ratesOf([at(0, 10, 1, 1), at(5, 20, 3, 1.02), at(10, 20, 3, 1.02), at(15, 4, 1, 0.1)]);
    expect(rates.at).toEqual([5, 10, 15]);
    expect(rates.steps).toEqual([2, 0, null]);
    expect(rates.commitMs.map((ms) => ms && Math.round(ms))).toEqual([10, null, null]);
    expect(ratesOf([at(0, 1, 1, 1)]).at).toEqual([]);
  });
});
