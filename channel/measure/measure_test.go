package measure

import (
	"testing"

	"heddle/channel"
)

// TestRows holds what is measured against what the kinds declare.
func TestRows(t *testing.T) {
	for _, k := range channel.Kinds() {
		row, err := Kind(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if row.HRT != k.HRT || row.Send != k.SendRequests || row.Recv != k.RecvRequests || row.Blocks != k.Blocking ||
			row.PassiveSender() != k.PassiveSender || row.PassiveReceiver() != k.PassiveReceiver ||
			row.Shared() != k.Senders || row.Copied != k.Copying {
			t.Errorf("%s: measured %+v, declared %+v", k.Name, row, k.Features)
		}
		if k.Batches && row.Batch <= 1 {
			t.Errorf("%s: %.1f messages a request, declared that it batches", k.Name, row.Batch)
		}
	}
}
