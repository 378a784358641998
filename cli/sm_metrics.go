package cli

import (
	"net/http"
	"time"

	"heddle/mad"
	"heddle/sm"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsHandler answers with the manager's metrics, and those of the process.
func metricsHandler(status func() sm.Status) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(smCollector{status}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// smCollector makes metrics of a Status, each time that they are asked for.
type smCollector struct{ status func() sm.Status }

// metric is one value, or one for each of the values of a label.
type metric struct {
	name, help, label string
	kind              prometheus.ValueType
	values            map[string]float64 // by the label; "" where there is none
}

// Describe gives the metrics of a subnet manager without a subnet.
func (c smCollector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range smMetrics(sm.Status{}) {
		out <- m.desc()
	}
}

// Collect gives the metrics as they are now.
func (c smCollector) Collect(out chan<- prometheus.Metric) {
	for _, m := range smMetrics(c.status()) {
		for label, value := range m.values {
			var labels []string
			if m.label != "" {
				labels = []string{label}
			}
			out <- prometheus.MustNewConstMetric(m.desc(), m.kind, value, labels...)
		}
	}
}

func (m metric) desc() *prometheus.Desc {
	var labels []string
	if m.label != "" {
		labels = []string{m.label}
	}
	return prometheus.NewDesc("heddle_sm_"+m.name, m.help, labels, nil)
}

type number interface{ ~int | ~uint64 | ~float64 }

func gauge[N number](name, help string, n N) metric {
	return metric{name, help, "", prometheus.GaugeValue, map[string]float64{"": float64(n)}}
}

func counter[N number](name, help string, n N) metric {
	return metric{name, help, "", prometheus.CounterValue, map[string]float64{"": float64(n)}}
}

// labelled is a gauge for each value of a label.
func labelled(name, help, label string, values map[string]float64) metric {
	return metric{name, help, label, prometheus.GaugeValue, values}
}

// smMetrics are all of them.
func smMetrics(s sm.Status) []metric {
	return append(troubleMetrics(s), subnetMetrics(s)...)
}

// subnetMetrics are those of the subnet and its groups.
func subnetMetrics(s sm.Status) []metric {
	return []metric{
		{"state", "1 for the state that the subnet manager is in", "state", prometheus.GaugeValue, managerStates(s.Info.SMState)},
		gauge("nodes", "nodes of the subnet", s.Nodes),
		gauge("switches", "switches of the subnet", s.Switches),
		gauge("links", "links of the subnet", s.Links),
		counter("sweeps_total", "sweeps of the whole subnet", s.Sweeps),
		counter("sweeps_failed_total", "sweeps that did not come to their end", s.Failed),
		gauge("last_sweep_seconds", "time that the last sweep took", s.Last.Took.Seconds()),
		gauge("last_sweep_timestamp_seconds", "when the last sweep began", timestamp(s)),
		counter("batches_total", "batches of groups that were routed between sweeps", s.Batches),
		{"smps_total", "SMPs, asked for what there is, sent to change it, and failed of the latter", "kind", prometheus.CounterValue, map[string]float64{
			"asked": float64(s.Asked), "sent": float64(s.Sent), "failed": float64(s.Refused),
		}},
		{"groups", "multicast groups by state", "state", prometheus.GaugeValue, groupCounts(s)},
		gauge("members", "members of all groups", s.Groups.Members),
		{"mlids", "MLIDs in use, of them those that serve several groups and those not written to all switches, and those that wait to be free", "use", prometheus.GaugeValue, map[string]float64{
			"used": float64(s.Groups.MLIDs), "shared": float64(s.Groups.Shared), "retiring": float64(s.Groups.Retiring), "unsettled": float64(len(s.Unsettled)),
		}},
		gauge("groups_sharing", "multicast groups that share their MLID with others", s.Sharing),
		gauge("efi_max", "trees on the most loaded link between switches", s.MaxEFI),
		gauge("tree_links", "links of all trees together", s.TreeLinks),
		{"stage_seconds_total", "time of what was done for groups, by its parts", "stage", prometheus.CounterValue, map[string]float64{
			"routing": s.Stages.Routing.Seconds(), "planning": s.Stages.Planning.Seconds(), "reading": s.Stages.Reading.Seconds(),
			"ahead": s.Stages.Ahead.Seconds(), "writing": s.Stages.Writing.Seconds(),
		}},
		{"requests_total", "requests to subnet administration by how they ended", "result", prometheus.CounterValue, map[string]float64{
			"answered": float64(s.SA.Answered), "refused": float64(s.SA.Refused - s.SA.Busy), "busy": float64(s.SA.Busy), "silent": float64(s.SA.Silent),
		}},
	}
}

func managerStates(state mad.SMState) map[string]float64 {
	values := map[string]float64{}
	for _, s := range managerStateList() {
		values[s.String()] = 0
	}
	values[state.String()] = 1
	return values
}

func groupCounts(s sm.Status) map[string]float64 {
	values := map[string]float64{"plain": float64(s.ByState[0])}
	for _, state := range groupStates() {
		values[state.String()] = float64(s.ByState[state])
	}
	return values
}

// timestamp is in seconds since 1970, 0 before the first sweep.
func timestamp(s sm.Status) float64 { return seconds(s.Last.At) }

// seconds are since 1970, 0 for no time.
func seconds(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.UnixNano()) / 1e9
}
