package cli

import (
	"heddle/verbs"

	"github.com/spf13/cobra"
)

func (a *app) verbsCommand() *cobra.Command {
	cmd := a.parent("verbs", "RDMA devices: what they can do, and how fast",
		"heddle verbs lists RDMA devices, with what may be relied on, and measures them.\n\n"+deviceHelp)
	cmd.AddCommand(a.verbsDevicesCommand(), a.verbsPingPongCommand())
	return cmd
}

const deviceHelp = `--provider is a kind of device:
  sim  simulated networks within the process, a device for each sort: ib, ib-ar,
       ib-relaxed, efa-2023, efa, 1rma, iwarp
  shm  shared memory, between processes of this host
  ibv  the devices of libibverbs, where it is installed`

// deviceFlags say which device is meant, and what the user knows of it.
type deviceFlags struct {
	provider, device string
	assume           []string
}

func (f *deviceFlags) flags(cmd *cobra.Command, usual string) {
	cmd.Flags().StringVar(&f.provider, "provider", usual, "kind of device")
	cmd.Flags().StringVar(&f.device, "device", "", "name of the device; the first without it")
	cmd.Flags().StringSliceVar(&f.assume, "assume", nil, "what you know of the device and it does not tell: "+assumeHelp)
}

// find is the device.
func (f *deviceFlags) find() (verbs.Device, error) {
	p, err := provider(f.provider)
	if err != nil {
		return nil, err
	}
	return device(p, f.device)
}
