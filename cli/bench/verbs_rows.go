package bench

import (
	"fmt"

	"heddle/cli/perf"
	"heddle/internal/peer"
	"heddle/verbs"
)

// Messages of a run.
const (
	pings = 200_000
	waves = 2_000_000
	wakes = 1000
	// timedTogether round trips are read off one look at the clock, which would
	// be a good part of one.
	timedTogether = 16
)

// verbsRows are all figures, those beside one another in the same order each
// time.
func verbsRows() (list []verbsRow) {
	for _, size := range []int{8, 64} {
		list = append(list,
			latencyRow("one-way latency", "tag_lat", verbs.OpWrite, size), latencyRow("one-way latency", "tag_lat", verbs.OpSend, size))
	}
	for _, size := range []int{8, 64} {
		list = append(list, latencyRow("one-way latency beside active messages", "ucp_am_lat", verbs.OpWrite, size))
	}
	for _, size := range []int{8, 64} {
		list = append(list, rateRow(verbs.OpWrite, size, 1), rateRow(verbs.OpSend, size, 1), rateRow(verbs.OpSend, size, 16))
	}
	for _, size := range []int{64 << 10, 1 << 20} {
		list = append(list, bandwidthRow(verbs.OpWrite, size), bandwidthRow(verbs.OpSend, size))
	}
	for _, awake := range []bool{false, true} {
		list = append(list, wakeRow(verbs.OpWrite, awake), wakeRow(verbs.OpSend, awake))
	}
	return append(list, otherRows()...)
}

func microseconds(r perf.Result) float64       { return r.Times.Median }
func millions(r perf.Result) float64           { return r.Rate / 1e6 }
func gigabytes(r perf.Result) float64          { return r.Bandwidth() / 1e9 }
func ucxMicroseconds(r peer.UCXResult) float64 { return r.Median }
func ucxMillions(r peer.UCXResult) float64     { return r.Rate / 1e6 }

func latencyRow(group, test string, op verbs.Op, size int) verbsRow {
	return verbsRow{
		group: group, metric: fmt.Sprintf("%v, %d bytes", op, size), unit: "us",
		spec:  perf.Spec{Op: op, Size: size, Iters: pings, Batch: timedTogether},
		value: microseconds, ucx: peer.UCXRun{Test: test, Size: size}, ucxValue: ucxMicroseconds,
	}
}

func rateRow(op verbs.Op, size, chain int) verbsRow {
	metric := fmt.Sprintf("%v, %d bytes", op, size)
	if chain > 1 {
		metric += fmt.Sprintf(", %d a call", chain)
	}
	return verbsRow{
		group: "message rate", metric: metric, unit: "M/s",
		spec:  perf.Spec{Test: perf.Stream, Op: op, Size: size, Iters: waves, Chain: chain},
		value: millions, ucx: peer.UCXRun{Test: "tag_bw", Size: size}, ucxValue: ucxMillions,
	}
}

func bandwidthRow(op verbs.Op, size int) verbsRow {
	return verbsRow{
		group: "bandwidth", metric: fmt.Sprintf("%v, %d KiB", op, size>>10), unit: "GB/s",
		spec:  perf.Spec{Test: perf.Stream, Op: op, Size: size, Iters: (1 << 30) / size},
		value: gigabytes, ucx: peer.UCXRun{Test: "tag_bw", Size: size},
		ucxValue: func(r peer.UCXResult) float64 { return r.Rate * float64(size) / 1e9 },
	}
}

func wakeRow(op verbs.Op, awake bool) verbsRow {
	group := "one way to a receiver that sleeps"
	if awake {
		group += ", idle CPUs kept awake"
	}
	return verbsRow{
		group: group, metric: op.String(), unit: "us", awake: awake,
		spec: perf.Spec{Test: perf.Wake, Op: op, Iters: wakes}, value: microseconds, socket: true,
	}
}

// otherRows are of the operations that UCX' messages have nothing beside.
func otherRows() (list []verbsRow) {
	for _, op := range []verbs.Op{verbs.OpSendImm, verbs.OpWriteImm} {
		list = append(list, verbsRow{
			group: "other messages, one way", metric: fmt.Sprintf("%v, 8 bytes", op), unit: "us",
			spec: perf.Spec{Op: op, Size: 8, Iters: pings / 4, Batch: timedTogether}, value: microseconds,
		})
	}
	for _, op := range []verbs.Op{verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap} {
		list = append(list, verbsRow{
			group: "other operations, there and back", metric: fmt.Sprintf("%v, 8 bytes", op), unit: "us",
			spec: perf.Spec{Op: op, Size: 8, Iters: pings / 4, Batch: timedTogether}, value: microseconds,
		})
	}
	for _, op := range []verbs.Op{verbs.OpRead, verbs.OpFetchAdd} {
		list = append(list, verbsRow{
			group: "other operations, rate", metric: fmt.Sprintf("%v, 8 bytes", op), unit: "M/s",
			spec: perf.Spec{Test: perf.Stream, Op: op, Size: 8, Iters: waves / 4}, value: millions,
		})
	}
	return append(list, verbsRow{
		group: "other operations, bandwidth", metric: "READ, 64 KiB", unit: "GB/s",
		spec: perf.Spec{Test: perf.Stream, Op: verbs.OpRead, Size: 64 << 10, Iters: 1 << 13}, value: gigabytes,
	})
}
