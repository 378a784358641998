package sm_test
import ("testing";"heddle/emu")
func TestZZCost(t *testing.T) {
	for _, spec := range []string{"fat-tree:k=8", "fat-tree:k=16"} {
		manage(t, spec, emu.Config{}, func(t *testing.T, m managed) {
			for range 2 { r, err := m.Sweep(t.Context()); t.Logf("%s %+v %v", spec, r, err) }
		})
	}
}
