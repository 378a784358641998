package mad

import "fmt"

func (i MlnxExtPortInfo) diags() []string {
	return []string{
		field("StateChangeEnable", fmt.Sprintf("%#02x", i.StateChangeEnable)),
		field("LinkSpeedSupported", fmt.Sprintf("%#02x", uint8(i.LinkSpeedSupported))),
		field("LinkSpeedEnabled", fmt.Sprintf("%#02x", uint8(i.LinkSpeedEnabled))),
		field("LinkSpeedActive", fmt.Sprintf("%#02x", uint8(i.LinkSpeedActive))),
	}
}
